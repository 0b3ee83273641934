"""Every paper that the code cites, as the command line and public pages print it.

Docstrings, methods, orderings and measures cite a paper by its key; ``docs/references.bib`` has the
same keys. Public pages use no docstrings, so that rewording a docstring changes no page.
"""

from collections.abc import Mapping

PAPERS: Mapping[str, str] = {
    "CLH07": (
        'Chang, Li and Huang, "TFRP: an efficient microaggregation algorithm for statistical '
        'disclosure control", J. Syst. Softw. 80 (2007) 1866-1878.'
    ),
    "CPD13": (
        'Chettri, Paul and Dutta, "Statistical disclosure control for data privacy preservation",'
        " Int. J. Comput. Appl. 80 (2013)."
    ),
    "DB13": (
        'Das and Borah, "A density-based micro aggregation technique for privacy-preserving data '
        'mining", Int. J. Res. Eng. Technol. 2, special issue 2 (2013).'
    ),
    "DDS79": (
        'Denning, Denning and Schwartz, "The tracker: a threat to statistical database security", '
        "ACM Trans. Database Syst. 4 (1979) 76-96, doi:10.1145/320064.320069."
    ),
    "DM02": (
        'Domingo-Ferrer and Mateo-Sanz, "Practical data-oriented microaggregation for statistical'
        ' disclosure control", IEEE Trans. Knowl. Data Eng. 14 (2002) 189-201, '
        "doi:10.1109/69.979982."
    ),
    "DMMS06": (
        'Domingo-Ferrer, Martinez-Balleste, Mateo-Sanz and Sebe, "Efficient multivariate '
        'data-oriented microaggregation", VLDB Journal 15 (2006) 355-369, '
        "doi:10.1007/s00778-006-0007-0."
    ),
    "DMT01": (
        'Domingo-Ferrer, Mateo-Sanz and Torra, "Comparing SDC methods for microdata on the basis '
        'of information loss and disclosure risk", Pre-proceedings of ETK-NTTS (2001) 807-826.'
    ),
    "DN03": (
        'Dinur and Nissim, "Revealing information while preserving privacy", Proc. 22nd ACM Symp. '
        "Principles of Database Systems (2003) 202-210, doi:10.1145/773153.773173."
    ),
    "DSS08": (
        'Domingo-Ferrer, Sebe and Solanas, "A polynomial-time approximation to optimal '
        'multivariate microaggregation", Comput. Math. Appl. 55 (2008) 714-732.'
    ),
    "DT01": (
        'Domingo-Ferrer and Torra, "A quantitative comparison of disclosure control methods for '
        'microdata", in Confidentiality, Disclosure and Data Access (2001) 111-133.'
    ),
    "DT03": (
        'Domingo-Ferrer and Torra, "Fuzzy microaggregation for microdata protection", J. Adv. '
        "Comput. Intell. Intell. Inform. 7 (2003) 153-159."
    ),
    "DT05": (
        'Domingo-Ferrer and Torra, "Ordinal, continuous and heterogeneous k-anonymity through '
        'microaggregation", Data Min. Knowl. Discov. 11 (2005) 195-212, '
        "doi:10.1007/s10618-005-0007-5."
    ),
    "FWFP08": (
        'Fung, Wang, Fu and Pei, "Anonymity for continuous data publishing", Proc. 11th Int. '
        "Conf. Extending Database Technology (2008) 264-275, doi:10.1145/1353343.1353378."
    ),
    "GKS08": (
        'Ganta, Kasiviswanathan and Smith, "Composition attacks and auxiliary information in data '
        'privacy", Proc. 14th ACM Int. Conf. Knowledge Discovery and Data Mining (2008) 265-273, '
        "doi:10.1145/1401890.1401926."
    ),
    "GOW71": (
        'Gower, "A general coefficient of similarity and some of its properties", Biometrics 27 '
        "(1971) 857-871."
    ),
    "HM03": (
        'Hansen and Mukherjee, "A polynomial algorithm for optimal univariate microaggregation", '
        "IEEE Trans. Knowl. Data Eng. 15 (2003) 1043-1044."
    ),
    "JPSP08": (
        'Jepsen, Petersen, Spoorendonk and Pisinger, "Subset-row inequalities applied to the '
        'vehicle-routing problem with time windows", Oper. Res. 56 (2008) 497-511, '
        "doi:10.1287/opre.1070.0449."
    ),
    "KWZ10": (
        'Kabir, Wang and Zhang, "A pairwise-systematic microaggregation for statistical '
        'disclosure control", Proc. IEEE Int. Conf. Data Mining (2010) 266-273.'
    ),
    "LDR06": (
        'LeFevre, DeWitt and Ramakrishnan, "Mondrian multidimensional k-anonymity", 22nd Int. '
        "Conf. on Data Engineering (2006)."
    ),
    "LEC88": (
        'L\'Ecuyer, "Efficient and portable combined random number generators", Commun. ACM 31 '
        "(1988) 742-751, doi:10.1145/62959.62969."
    ),
    "LLV07": (
        'Li, Li and Venkatasubramanian, "t-closeness: privacy beyond k-anonymity and '
        'l-diversity", Proc. IEEE Int. Conf. Data Eng. (2007) 106-115.'
    ),
    "LM05": (
        'Laszlo and Mukherjee, "Minimum spanning tree partitioning algorithm for '
        'microaggregation", IEEE Trans. Knowl. Data Eng. 17 (2005) 902-911, '
        "doi:10.1109/TKDE.2005.112."
    ),
    "LM09": (
        'Laszlo and Mukherjee, "Approximation bounds for minimum information loss '
        'microaggregation", IEEE Trans. Knowl. Data Eng. 21 (2009) 1643-1647.'
    ),
    "LWHC10": (
        'Lin, Wen, Hsieh and Chang, "Density-based microaggregation for statistical disclosure '
        'control", Expert Syst. Appl. 37 (2010) 3256-3263.'
    ),
    "MJ14": (
        'Mortazavi and Jalili, "Fast data-oriented microaggregation algorithm for large numerical'
        ' datasets", Knowl.-Based Syst. 67 (2014) 195-205, doi:10.1016/j.knosys.2014.05.011.'
    ),
    "MKG07": (
        'Machanavajjhala, Kifer, Gehrke and Venkitasubramaniam, "l-diversity: privacy beyond '
        'k-anonymity", ACM Trans. Knowl. Discov. Data 1 (2007).'
    ),
    "MKM12": (
        'Mahmood, Kabir and Mustafa, "New multi-dimensional sorting based k-anonymity '
        'microaggregation for statistical disclosure control", Proc. SecureComm (2012).'
    ),
    "MOR20": (
        'Mortazavi, "Improved univariate microaggregation for integer values", ISeCure 12 (2020) '
        "35-43, doi:10.22042/isecure.2019.185397.465."
    ),
    "NHT08": (
        'Nin, Herranz and Torra, "On the disclosure risk of multivariate microaggregation", Data '
        "Knowl. Eng. 67 (2008) 399-412."
    ),
    "SKI04": (
        'Skilling, "Programming the Hilbert curve", AIP Conf. Proc. 707 (2004) 381-387, '
        "doi:10.1063/1.1751381."
    ),
    "SMD06": (
        'Solanas, Martinez-Balleste and Domingo-Ferrer, "V-MDAV: a multivariate microaggregation '
        'with variable group size", Proc. 17th COMPSTAT (2006).'
    ),
    "SSSD00": (
        'Schrimpf, Schneider, Stamm-Wilbrandt and Dueck, "Record breaking optimization results '
        'using the ruin and recreate principle", J. Comput. Phys. 159 (2000) 139-171, '
        "doi:10.1006/jcph.1999.6413."
    ),
    "SWE02": (
        'Sweeney, "k-anonymity: a model for protecting privacy", Int. J. Uncertain. Fuzziness '
        "Knowl.-Based Syst. 10 (2002) 557-570."
    ),
    "TKM15": (
        'Templ, Kowarik and Meindl, "Statistical disclosure control for micro-data using the R '
        'package sdcMicro", J. Stat. Softw. 67 (2015).'
    ),
    "TM08": (
        'Templ and Meindl, "Robust statistics meets SDC: new disclosure risk measures for '
        'continuous microdata masking", Privacy in Statistical Databases (2008).'
    ),
    "WEL62": (
        'Welford, "Note on a method for calculating corrected sums of squares and products", '
        "Technometrics 4 (1962) 419-420."
    ),
    "WRK09": (
        'Woo, Reiter, Oganian and Karr, "Global measures of data utility for microdata masked for'
        ' disclosure limitation", J. Privacy Confid. 1 (2009) 111-124.'
    ),
    "XT07": (
        'Xiao and Tao, "m-invariance: towards privacy preserving re-publication of dynamic '
        'datasets", Proc. ACM SIGMOD Int. Conf. Management of Data (2007) 689-700, '
        "doi:10.1145/1247480.1247556."
    ),
    "YWC02": (
        'Yancey, Winkler and Creecy, "Disclosure risk assessment in perturbative microdata '
        'protection", Inference Control in Statistical Databases (2002) 135-152.'
    ),
}
"""Papers by key."""
